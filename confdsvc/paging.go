package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

// Paging is a number by which some users speak through the telephones of others.
type Paging struct {
	ID                 ID      `db:"id" json:"id" readOnly:"true"`
	TenantUUID         string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Number             string  `db:"number" json:"number" required:"true" pattern:"^[0-9]{1,32}$" example:"600" doc:"Dialled after the code; unique in a tenant."`
	Name               *string `db:"name" json:"name" maxLength:"128" example:"Warehouse"`
	Duplex             bool    `db:"duplex" json:"duplex" default:"false" doc:"Whether members may answer."`
	IgnoreForward      bool    `db:"ignore_forward" json:"ignore_forward" default:"false"`
	Record             bool    `db:"record" json:"record" default:"false" doc:"Whether it is recorded."`
	CallerNotification bool    `db:"caller_notification" json:"caller_notification" default:"true" doc:"Whether a tone tells the caller that members hear them."`
	AnnounceCaller     bool    `db:"announce_caller" json:"announce_caller" default:"true" doc:"Whether the members hear a sound first."`
	AnnounceSound      *string `db:"announce_sound" json:"announce_sound" maxLength:"64" names:"sounds.path" example:"beep" doc:"That sound. Null: a tone."`
	Enabled            bool    `db:"enabled" json:"enabled" default:"true"`
	crud.Hrefs

	Callers PagingUsers `json:"callers" readOnly:"true" doc:"Who may speak."`
	Members PagingUsers `json:"members" readOnly:"true" doc:"Whose telephones they are heard through."`
}

// PagingUsers are users of a paging.
type PagingUsers struct {
	Users []UserRef `json:"users" readOnly:"true"`
}

type keyToPaging struct {
	keyHref

	PagingID ID `json:"paging_id" required:"true" ref:"pagings.id" doc:"The number of the paging group."`
}

const (
	pagingCallers crud.Relation[Paging, User] = "confd_paging_caller"
	pagingMembers crud.Relation[Paging, User] = "confd_paging_member"
)

func init() {
	resources = append(resources, declarePagings)
	funcKeyKinds = append(funcKeyKinds, kind[keyToPaging]("paging", ""))
	words["paging"], words["pagings"] = "paging group", "paging groups"
	words["feature=paging"], words["/callers/users"] = "speak to a paging group", "users who may speak"
}

func declarePagings(e *crud.Engine) {
	columns := []string{"name", "id", "number", "announce_sound"}
	crud.Collect(e, crud.Resource[Paging]{
		Path: "pagings", Singular: "paging", Param: "paging_id", Table: "confd_paging", Keys: []string{"id"},
		About: "Numbers by which users speak through the telephones of others.", Lists: []string{"number", "name", "members", "enabled"},
		Order: columns, Filters: columns, Search: columns, Nested: []string{"callers", "members"},
	})
	for _, is := range []struct {
		relation     crud.Relation[Paging, User]
		one, several string
		users        func(p *Paging) *[]UserRef
	}{
		{pagingCallers, "caller", "callers", func(p *Paging) *[]UserRef { return &p.Callers.Users }},
		{pagingMembers, "member", "members", func(p *Paging) *[]UserRef { return &p.Members.Users }},
	} {
		crud.Link[Paging, User]{
			Relation: is.relation, Path: is.several + "/users", Only: []string{"set"}, LeftShows: []crud.Show{crud.Many(is.users)},
			Set: &crud.List{
				ID: "update_paging_" + is.one + "_users", By: []string{"uuid"}, Nested: is.several + ".users", Repeated: "Cannot associate same user more than once.",
			},
		}.On(e)
	}
}
