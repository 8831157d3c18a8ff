package remote

// Identity reads a record and answers what would become words and header values.
func Identity(body []byte) (texts []string, err error) {
	r, err := parseRecord(body)
	return []string{r.user, r.session, r.tenant, r.purpose}, err
}
