package tokens

import (
	"context"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/store"
)

// Messages between nodes say what to forget, and when they were sent, in microseconds since 1970, to measure the lag:
//
//	t:<64 hexadecimal digits>;1790000000000000	a token, by its digest
//	u:<UUID>;1790000000000000	all tokens of a user
//	*;1790000000000000	everything
const (
	tokenMark = "t:"
	userMark  = "u:"
	allMark   = "*"
)

// ForgetTokenMessage tells the nodes that follow a channel to forget a token. Send it with store.DB.Notify, in the transaction
// of the change.
func ForgetTokenMessage(d Digest) string { return stamped(tokenMark + hex.EncodeToString(d[:])) }

// ForgetUserMessage tells them to forget all tokens of a user.
func ForgetUserMessage(userUUID string) string { return stamped(userMark + userUUID) }

// ForgetAllMessage tells them to forget everything.
func ForgetAllMessage() string { return stamped(allMark) }

func stamped(what string) string {
	return what + ";" + strconv.FormatInt(time.Now().UnixMicro(), 10)
}

// Follow forgets what other nodes announce on the channel, until ctx ends. While this node cannot listen, no known token is
// used, and each request asks the source: at first, while the connection is lost, and after Follow returned.
func Follow(ctx context.Context, db store.DB, channel string, c *Cache) error {
	c.Distrust()
	defer c.Distrust()
	return db.Listen(ctx, channel, store.Listener{
		Ready: func() {
			c.Trust()
			c.options.Logger.Debug("listening for revoked tokens")
		},
		Lost: func(err error) {
			c.Distrust()
			c.options.Logger.Warn("cannot hear of revoked tokens; each request asks the database until this is over", "error", err)
		},
		Deliver: c.Receive,
	})
}

// Receive forgets what a message names. It forgets everything if it does not understand the message: a newer version may have
// sent it.
func (c *Cache) Receive(message string) {
	what, sent, _ := strings.Cut(message, ";")
	c.forget(what)
	if micros, err := strconv.ParseInt(sent, 10, 64); err == nil {
		c.options.OnLag(max(0, c.options.Now().Sub(time.UnixMicro(micros))))
	}
}

func (c *Cache) forget(what string) {
	if digits, ok := strings.CutPrefix(what, tokenMark); ok {
		if d, err := hex.DecodeString(digits); err == nil && len(d) == len(Digest{}) {
			c.ForgetToken(Digest(d))
			return
		}
	}
	if user, ok := strings.CutPrefix(what, userMark); ok {
		if id, err := uuid.Parse(user); err == nil && id.String() == user {
			c.ForgetUser(user)
			return
		}
	}
	c.ForgetAll()
}
