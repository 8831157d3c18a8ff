// Package oauth2 links users to any OAuth 2.0 service, by the authorization code grant with PKCE (RFC 6749, RFC 7636, S256).
//
// POST returns {authorization_url, state}. The user opens the URL in a browser and consents; the service sends the browser back
// to the gateway, which exchanges the code for tokens and stores them. From then on GET returns {access_token, scope,
// token_expiration}, renewed if the token has less than half a minute left; until then, it returns 404.
//
// The operator sets the service's addresses. Each tenant sets its client_id and client_secret, in the tenant's configuration of
// the type (/external/{type}/config).
package oauth2
