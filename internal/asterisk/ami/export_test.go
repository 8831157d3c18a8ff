package ami

// MaxListed is the limit of lists.
const MaxListed = maxListed
