-- +goose Up
CREATE TABLE confd_registrar (
    id                  @text NOT NULL PRIMARY KEY,
    deletable           boolean NOT NULL,
    name                @text,
    main_host           @text NOT NULL,
    main_port           bigint,
    backup_host         @text,
    backup_port         bigint,
    proxy_main_host     @text NOT NULL,
    proxy_main_port     bigint,
    proxy_backup_host   @text,
    proxy_backup_port   bigint,
    outbound_proxy_host @text,
    outbound_proxy_port bigint,
    search_text         @search(id, name, main_host, main_port, backup_host, backup_port, proxy_main_host, proxy_main_port,
        proxy_backup_host, proxy_backup_port, outbound_proxy_host, outbound_proxy_port)
);
@search_index(confd_registrar);

-- The registrar of lines that name none. By default the telephone system runs on the same machine.
INSERT INTO confd_registrar (id, deletable, name, main_host, proxy_main_host) VALUES ('default', false, 'default', '127.0.0.1', '127.0.0.1');

CREATE TABLE confd_extension_feature (
    uuid    @uuid NOT NULL PRIMARY KEY,
    feature @text NOT NULL UNIQUE,
    exten   @text NOT NULL UNIQUE,
    context @text NOT NULL,
    enabled boolean NOT NULL
);
-- An installation begins with these two off: to record a call, and to take the call of any telephone that rings.
INSERT INTO confd_extension_feature (uuid, feature, exten, context, enabled) VALUES
    ('3ceaaf30-8142-48ea-91d9-3080f9b439fc', 'agentstaticlogin', '_*31.', 'xivo-features', true),
    ('9dfb369b-ab13-4fae-a276-55daa05f1119', 'agentstaticlogoff', '_*32.', 'xivo-features', true),
    ('6301bbfc-a0c5-454e-8ff9-bb510944fe0c', 'agentstaticlogtoggle', '_*30.', 'xivo-features', true),
    ('6fced11d-2bd8-41e6-847a-8387cdde8d51', 'autoprov', '*48378', 'xivo-features', true),
    ('3a124c64-7e02-4f05-b7c1-dce27f7695f5', 'bsfilter', '_*37.', 'xivo-features', true),
    ('66080f17-4c96-48e2-9cbd-0ba3a1a6bcde', 'callrecord', '*26', 'xivo-features', false),
    ('b120a366-f0bb-49cf-82f2-dc05873f9bd0', 'directoryaccess', '*36', 'xivo-features', true),
    ('78b7d0ac-8477-4ce0-8e4c-da11b43c589b', 'enablednd', '*25', 'xivo-features', true),
    ('2330fcf1-562a-44b8-8866-8d77e827062c', 'enablevm', '*90', 'xivo-features', true),
    ('c1acc990-6424-450a-a36b-f9b3ddcb369d', 'fwdbusy', '_*23.', 'xivo-features', true),
    ('9ad9b9a2-5e78-454d-b065-a1c284cc4549', 'fwdrna', '_*22.', 'xivo-features', true),
    ('99356597-6fba-4662-b6a7-30b7b12e9eed', 'fwdunc', '_*21.', 'xivo-features', true),
    ('8df08078-a22e-4180-85c2-c2af3977a654', 'fwdundoall', '*20', 'xivo-features', true),
    ('f3194a3b-381e-43e7-952c-466e473a1797', 'groupmemberjoin', '_*51.', 'xivo-features', true),
    ('c498b6e7-3648-445e-9afa-3a387f006745', 'groupmemberleave', '_*52.', 'xivo-features', true),
    ('ab57f985-4332-43da-a75a-2e199b58ba8d', 'groupmembertoggle', '_*50.', 'xivo-features', true),
    ('c1b87f1a-7323-491b-99f9-cbef0f69a4d0', 'incallfilter', '*27', 'xivo-features', true),
    ('2eb73728-2fea-475e-b536-5e1458294a90', 'meetingjoin', '_*41.', 'xivo-features', true),
    ('ac3e0b5b-c291-4709-8c1e-26038dabf68e', 'paging', '_*11.', 'xivo-features', true),
    ('2f314fdb-43c4-4bc7-a4cc-dcf9ea5ee53c', 'phoneprogfunckey', '_*735.', 'xivo-features', true),
    ('bafe9bd1-20c5-4152-9127-c47089bf36a2', 'phonestatus', '*10', 'xivo-features', true),
    ('fe014372-9313-4adf-bba3-fec76ca387b5', 'pickup', '_*8.', 'xivo-features', false),
    ('9280ba2e-1534-43fd-b357-71b237d047c9', 'recsnd', '*9', 'xivo-features', true),
    ('6800e67e-527f-4da6-96ec-4c60da8f3fe2', 'vmboxmsgslt', '_*96.', 'xivo-features', true),
    ('98daa4bf-7559-4f89-b3fb-95ee22432045', 'vmboxpurgeslt', '_*99.', 'xivo-features', true),
    ('b6d9f6f4-5cdc-48b9-9a64-00c790010259', 'vmboxslt', '_*97.', 'xivo-features', true),
    ('6a015b66-5e4a-429c-9be7-df00cba497dd', 'vmusermsg', '*98', 'xivo-features', true),
    ('365bf63a-6659-4554-8410-3017ead492d2', 'vmuserpurge', '*92', 'xivo-features', true);
