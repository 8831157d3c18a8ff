package main

// authRows measures the authentication service of the release binary.
func (b *bench) authRows() ([]row, error) {
	release, err := b.build("./cmd/ringfence", true)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, part := range []func(release string) ([]row, error){b.checkRows, b.townRows} {
		found, err := part(release)
		rows = append(rows, found...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}
