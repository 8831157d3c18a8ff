// Package oauth2 links users to any service that speaks OAuth 2.0, by the authorization code grant with PKCE (RFC 6749,
// RFC 7636, S256).
//
// POST answers {authorization_url, state}. The user opens the URL in a browser and consents; the service sends the
// browser back to the gateway, which exchanges the code for tokens and keeps them. From then on GET answers
// {access_token, scope, token_expiration}, renewed when the token has less than half a minute left; until then, 404.
//
// The service's addresses are the operator's. client_id and client_secret are each tenant's, in the tenant's
// configuration of the type (/external/{type}/config).
package oauth2
