-- +goose Up
@search_index(confd_user, id);
@search_index(confd_voicemail, id);
@search_index(confd_context, id);
@search_index(confd_extension, id);
@search_index(confd_line, id);
@search_index(confd_incall, id);
@search_index(confd_group, id);
@search_index(confd_func_key_template, id);
