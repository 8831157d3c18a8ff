package remote

// Identity reads a record and returns the texts that would become words and header values.
func Identity(body []byte) (texts []string, err error) {
	r, err := parseRecord(body)
	return []string{r.user, r.session, r.tenant, r.purpose}, err
}
