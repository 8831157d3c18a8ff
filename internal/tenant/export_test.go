package tenant

// DrawSlugs makes the next slugs of tenants of another auth server these, and further ones random again.
func DrawSlugs(slugs ...string) {
	random := newSlug
	newSlug = func() string {
		if len(slugs) == 0 {
			newSlug = random
			return random()
		}
		next := slugs[0]
		slugs = slugs[1:]
		return next
	}
}
