-- +goose Up
CREATE TABLE confd_queue_agent (
    queue_id bigint NOT NULL REFERENCES confd_queue (id) ON DELETE CASCADE,
    agent_id bigint NOT NULL REFERENCES confd_agent (id) ON DELETE CASCADE,
    penalty  bigint NOT NULL,
    priority bigint NOT NULL,
    PRIMARY KEY (queue_id, agent_id)
);
CREATE INDEX confd_queue_agent_agent ON confd_queue_agent (agent_id);

CREATE TABLE confd_queue_user (
    queue_id bigint NOT NULL REFERENCES confd_queue (id) ON DELETE CASCADE,
    user_id  bigint NOT NULL REFERENCES confd_user (id) ON DELETE CASCADE,
    priority bigint NOT NULL,
    PRIMARY KEY (queue_id, user_id)
);
CREATE INDEX confd_queue_user_user ON confd_queue_user (user_id);
