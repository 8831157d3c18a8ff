package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// metrics are the metrics that a gateway serves, with their labels, and the values of each.
type metrics map[string]map[string][]string

var (
	servedSample = regexp.MustCompile(`(?m)^(\w+)(?:\{(.*)\})? \S+$`)
	servedLabel  = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// readMetrics reads what /metrics has. Prometheus adds the labels job and instance, and a metric of its own.
func readMetrics(served string) metrics {
	all := metrics{"up": {"job": {"ringfence"}, "instance": nil}}
	for _, sample := range servedSample.FindAllStringSubmatch(served, -1) {
		if all[sample[1]] == nil {
			all[sample[1]] = map[string][]string{"job": {"ringfence"}, "instance": nil}
		}
		for _, label := range servedLabel.FindAllStringSubmatch(sample[2], -1) {
			all[sample[1]][label[1]] = append(all[sample[1]][label[1]], label[2])
		}
	}
	return all
}

// What our expressions are made of: metrics, perhaps of a time, with labels that must be equal; a few functions; and sums by labels.
var (
	operand  = regexp.MustCompile(`([a-z_]\w*)(\{[^{}]*\})?(\[[1-9]\d*[smhd]\])?(\()?`)
	grouping = regexp.MustCompile(`\bsum by \(([\w, ]+)\) \(`)
	takesNow = []string{"max(", "sum(", "histogram_quantile(", "time("}
)

// check fails the test unless each metric, label and value in an expression is one that is served. It returns the labels of the result.
func (m metrics) check(t *testing.T, expression string) []string {
	t.Helper()
	labels, wrong := m.read(expression)
	for _, what := range wrong {
		t.Errorf("%s: %s", expression, what)
	}
	return labels
}

// read returns the labels of an expression's result, and what is wrong with it.
func (m metrics) read(expression string) (labels, wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if strings.Count(expression, "(") != strings.Count(expression, ")") {
		say("a parenthesis is open")
	}
	var by []string
	for i, group := range grouping.FindAllStringSubmatch(expression, -1) {
		if i > 0 && group[1] != strings.Join(by, ", ") {
			say("the sides have other labels, and never meet")
		}
		by = strings.Split(group[1], ", ")
	}
	all := map[string]bool{}
	rate := false // a metric of a time belongs to a rate, and nothing else does
	for _, o := range operand.FindAllStringSubmatch(grouping.ReplaceAllString(expression, "sum("), -1) {
		if name := o[1] + o[4]; o[4] != "" {
			if rate = name == "rate("; !rate && !slices.Contains(takesNow, name) {
				say("the test does not know %s)", name)
			}
			continue
		}
		served := m[o[1]]
		if served == nil {
			say("%s is not served", o[1])
		}
		if rate != (o[3] != "") {
			say("a rate, and nothing else, is of a time: %s", o[0])
		}
		rate = false
		for _, equal := range servedLabel.FindAllStringSubmatch(o[2], -1) {
			if !slices.Contains(served[equal[1]], equal[2]) {
				say("%s has no %s", o[1], equal[0])
			}
		}
		if strings.Trim(servedLabel.ReplaceAllString(o[2], ""), "{, }") != "" {
			say("the test does not know %s", o[2])
		}
		for _, name := range by {
			if _, has := served[name]; !has {
				say("%s has no label %s", o[1], name)
			}
		}
		for name := range served {
			all[name] = by == nil || slices.Contains(by, name)
		}
	}
	if strings.Contains(expression, "histogram_quantile(") {
		if !all["le"] {
			say("a quantile needs the label le")
		}
		all["le"] = false
	}
	maps.DeleteFunc(all, func(_ string, left bool) bool { return !left })
	return slices.Sorted(maps.Keys(all)), wrong
}

// served returns the metrics of a gateway that has admitted, refused, throttled and failed.
func served(t *testing.T) string {
	t.Helper()
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	token := p.Login(t, "admin", gatewaytest.Password)
	p.Do(t, "POST", "/api/auth/0.1/token", "", "{}", resttest.Basic("admin", "wrong")).Want(401)
	p.Do(t, "GET", "/api/auth/0.1/users", token, "").Want(200)
	p.Do(t, "GET", "/api/auth/0.1/users", "", "").Want(401)
	p.Do(t, "POST", "/api/auth/0.1/saml/sso", "", "{}").Want(501)
	return p.Do(t, "GET", p.Helpers+"/metrics", "", "").Want(200).Body
}

// The alerts and the dashboard are what Prometheus and Grafana read, and ask only for what a gateway serves.
func TestServedMetrics(t *testing.T) {
	text := served(t)
	for _, line := range []string{
		`ringfence_gate_request_duration_seconds_count{service="auth",status="2xx"} 2`, `ringfence_gate_request_duration_seconds_count{service="auth",status="4xx"} 2`,
		`ringfence_gate_request_duration_seconds_count{service="auth",status="5xx"} 1`,
		"ringfence_database_up 1", "ringfence_sessions 1",
		`ringfence_logins_total{outcome="succeeded"} 1`, `ringfence_logins_total{outcome="refused"} 1`, `ringfence_logins_total{outcome="throttled"} 0`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
	m := readMetrics(text)
	t.Run("alerts", func(t *testing.T) { m.checkAlerts(t, deployed(t, "deploy/alerts.yml")) })
	t.Run("dashboard", func(t *testing.T) { m.checkDashboard(t, deployed(t, "deploy/dashboard.json")) })
	if !strings.Contains(deployed(t, "docs/operations.md"), "job_name: ringfence\n") {
		t.Error("no document says which job the expressions name")
	}
}

var labelInText = regexp.MustCompile(`\$labels\.(\w+)`)

// checkAlerts fails the test unless a file has rules that Prometheus can read.
func (m metrics) checkAlerts(t *testing.T, text string) {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil || len(file.Groups) != 1 || file.Groups[0].Name == "" || len(file.Groups[0].Rules) < 8 {
		t.Fatalf("%+v, %v", file, err)
	}
	names := map[string]bool{}
	for _, rule := range file.Groups[0].Rules {
		if names[rule.Alert] || rule.For != "" && !regexp.MustCompile(`^[1-9]\d*[smhd]$`).MatchString(rule.For) || rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" {
			t.Errorf("%+v", rule)
		}
		names[rule.Alert] = true
		has := m.check(t, rule.Expr)
		for _, summary := range rule.Annotations {
			if _, err := template.New("").Parse("{{ $labels := 1 }}{{ $value := 1 }}" + labelInText.ReplaceAllString(summary, "$$labels")); err != nil {
				t.Errorf("%s: %v", rule.Alert, err)
			}
			for _, label := range labelInText.FindAllStringSubmatch(summary, -1) {
				if !slices.Contains(has, label[1]) {
					t.Errorf("%s: the expression has no label %s: %v", rule.Alert, label[1], has)
				}
			}
		}
	}
}

var labelInLegend = regexp.MustCompile(`\{\{ *(\w+) *\}\}`)

// checkDashboard fails the test unless a dashboard's panels show something, each in a place of its own.
func (m metrics) checkDashboard(t *testing.T, text string) {
	t.Helper()
	type place struct{ H, W, X, Y int }
	var dashboard struct {
		Templating struct{ List []struct{ Name, Type string } }
		Panels     []struct {
			ID          int
			Title, Type string
			Datasource  struct{ Type, UID string }
			GridPos     place
			Targets     []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil || len(dashboard.Panels) < 8 || len(dashboard.Templating.List) != 1 {
		t.Fatalf("%d panels, %v", len(dashboard.Panels), err)
	}
	source := dashboard.Templating.List[0]
	places := map[[2]int]string{}
	for _, p := range dashboard.Panels {
		if source.Type != "datasource" || p.Datasource.UID != "${"+source.Name+"}" || p.Datasource.Type != "prometheus" || p.Title == "" || p.Type == "" || len(p.Targets) == 0 {
			t.Errorf("%+v", p)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := places[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s is on %s, or beyond the edge", p.Title, other)
				}
				places[[2]int{x, y}] = p.Title
			}
		}
		for _, target := range p.Targets {
			has := m.check(t, target.Expr)
			for _, label := range labelInLegend.FindAllStringSubmatch(target.LegendFormat, -1) {
				if !slices.Contains(has, label[1]) {
					t.Errorf("%s: the expression has no label %s: %v", p.Title, label[1], has)
				}
			}
		}
	}
}

// What the test of the alerts would find.
func TestMetricsAreChecked(t *testing.T) {
	m := readMetrics("# HELP a_total x\na_total{outcome=\"ok\"} 1\nb_bucket{le=\"1\"} 2\nc 3\n")
	for expression, want := range map[string]string{
		`a_total{outcome="ok"} > 1`:                                 "",
		`histogram_quantile(0.9, sum by (le) (rate(b_bucket[5m])))`: "",
		`c-time() < 1`:                                   "",
		`rate(a_total[5m]`:                               "a parenthesis is open",
		`rate(a_total)`:                                  "is of a time: a_total",
		`max(a_total[5m])`:                               "is of a time: a_total[5m]",
		`deriv(a_total[5m])`:                             "does not know deriv()",
		`nothing > 1`:                                    "nothing is not served",
		`a_total{outcome="bad"}`:                         `a_total has no outcome="bad"`,
		`a_total{reason="ok"}`:                           `a_total has no reason="ok"`,
		`a_total{outcome=~"ok"}`:                         `does not know {outcome=~"ok"}`,
		`sum by (reason) (a_total)`:                      "a_total has no label reason",
		`histogram_quantile(0.9, rate(c[5m]))`:           "needs the label le",
		`sum by (instance) (c) / sum by (job) (a_total)`: "never meet",
	} {
		_, said := m.read(expression)
		if got := strings.Join(said, "\n"); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}
