package wazo

// Translate returns the patterns of ours that stand for what a pattern of the platform's stands for, and why they are not exactly it, or are
// none. documented are the accesses of our own services.
func Translate(old string, documented []string) (patterns []string, reason string) {
	return translate(old, documented)
}
