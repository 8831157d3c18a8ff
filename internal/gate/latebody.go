package gate

import (
	"io"
	"net/http"
	"slices"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
)

// lateBody is the body of a request to one of our own services, which acts when it has read all of it. Whoever sends it slowly may have
// lost meanwhile what the gate's decision stood on, so its end is an error if the token no longer says the same.
type lateBody struct {
	io.ReadCloser
	gate *Gate
	r    *http.Request
	need Need
	who  *principal.Principal
	over error // what the end of the body was
}

func (b *lateBody) Read(p []byte) (int, error) {
	if b.over != nil {
		return 0, b.over
	}
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		if b.over = b.check(); b.over == nil {
			b.over = io.EOF
		}
		err = b.over
	}
	return n, err
}

// check asks for the token again, which costs no query as long as nothing has changed.
func (b *lateBody) check() error {
	who, denied := b.gate.authenticate(b.r, &b.need)
	switch {
	case denied != nil:
		return denied.err
	case who == b.who || sameRights(who, b.who):
		return nil
	default:
		return apierr.New(apierr.Forbidden, "What your token allows has changed while the request was sent; send it again")
	}
}

// sameRights reports whether two principals of a token may do the same in the same tenant.
func sameRights(a, b *principal.Principal) bool {
	return a.UserUUID == b.UserUUID && a.SessionUUID == b.SessionUUID && a.TenantUUID == b.TenantUUID && a.Remote == b.Remote && a.Master == b.Master &&
		(a.ACL == b.ACL || slices.Equal(a.ACL.Patterns(), b.ACL.Patterns()))
}
