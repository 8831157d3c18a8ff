package check

import "strconv"

// confbridgeTypes are the types of the sections of confbridge.conf.
var confbridgeTypes = words("bridge\nuser\nmenu\n")

// checkConfbridge checks the profiles and menus of conferences: for one that it does not know Asterisk loads none of them.
func (c *checker) checkConfbridge() {
	const file = "confbridge.conf"
	for _, s := range c.sections(file) {
		if kind, _ := s.Get("type"); !confbridgeTypes[kind] {
			c.addf(file, s.Line, "[%s] has an unknown type %q", s.Name, kind)
		}
	}
}

// checkFeatures checks the keys during calls: of two actions with the same ones Asterisk does the first, and what it calls an application runs.
func (c *checker) checkFeatures() {
	const file = "features.conf"
	for _, s := range c.sections(file) {
		keys := map[string]string{}
		for _, v := range s.Values {
			switch {
			case s.Name == "applicationmap":
				c.addf(file, v.Line, "%s runs an application", v.Name)
			case s.Name == "featuremap" && v.Text != "" && keys[v.Text] != "":
				c.addf(file, v.Line, "%s has the keys %s, as %s has", v.Name, v.Text, keys[v.Text])
			case s.Name == "featuremap":
				keys[v.Text] = v.Name
			}
		}
	}
}

// checkRTP checks the ports of voices. Asterisk has 5000 to 31000 where none are named.
func (c *checker) checkRTP() {
	const file = "rtp.conf"
	if c.files[file] == nil || c.files[file].Section("general") == nil {
		return
	}
	s := c.files[file].Section("general")
	port := func(name string, otherwise int) int {
		typed, is := s.Get(name)
		if !is {
			return otherwise
		}
		n, _ := strconv.Atoi(typed)
		return n
	}
	if from, to := port("rtpstart", 5000), port("rtpend", 31000); from < 1024 || from >= to || to > 65535 {
		c.addf(file, s.Line, "[general] has no ports from %d to %d", from, to)
	}
}
