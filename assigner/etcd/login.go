package etcd

import (
	"context"
	"errors"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// login adds a token to every request, and gets one when there is none or it has expired. The
// client does so as well, but sends the expired token along when it asks for another one, and
// servers before 3.5 refuse that: such a client never comes back from a pause. It is safe for
// concurrent use.
type login struct {
	user, password string

	token atomic.Pointer[string] // the server's answer; nil: none yet, empty: it asks for no token
}

// unary is a grpc.UnaryClientInterceptor. It repeats a request once whose token was stale.
func (l *login) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
	invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if method == pb.Auth_Authenticate_FullMethodName {
		return invoker(ctx, method, req, reply, cc, opts...)
	}
	var err error
	for range 2 {
		token, tokenErr := l.get(ctx, cc)
		if tokenErr != nil {
			return tokenErr
		}
		with := ctx
		if *token != "" {
			with = metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, *token)
		}
		if err = invoker(with, method, req, reply, cc, opts...); !stale(err) {
			return err
		}
		l.token.CompareAndSwap(token, nil) // unless another one has replaced it
	}
	return err
}

// stale reports whether a server has refused a token that a new one may replace.
func stale(err error) bool {
	err = rpctypes.Error(err)
	return errors.Is(err, rpctypes.ErrInvalidAuthToken) || errors.Is(err, rpctypes.ErrUserEmpty) ||
		errors.Is(err, rpctypes.ErrAuthOldRevision)
}

// get returns the token, and asks the server for one first if none is known. Callers that come at
// the same time may each ask.
func (l *login) get(ctx context.Context, cc *grpc.ClientConn) (*string, error) {
	if token := l.token.Load(); token != nil {
		return token, nil
	}
	resp, err := pb.NewAuthClient(cc).Authenticate(ctx,
		&pb.AuthenticateRequest{Name: l.user, Password: l.password})
	if err != nil && !errors.Is(rpctypes.Error(err), rpctypes.ErrAuthNotEnabled) {
		return nil, err
	}
	token := resp.GetToken()
	l.token.Store(&token)
	return &token, nil
}
