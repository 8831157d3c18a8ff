package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// operator is a person at the console.
type operator struct {
	*browser
	t   *testing.T
	url string
}

// dropTyped lets the page be left with what was typed in it.
const dropTyped = `dispatchEvent(new Event('saved')), ''`

// open opens a page of the console.
func (o *operator) open(page string) {
	o.t.Helper()
	o.script(o.t, fmt.Sprintf("%s, location.hash = %q, ''", dropTyped, page))
}

// goTo opens a page, which has this title.
func (o *operator) goTo(page, title string) {
	o.t.Helper()
	o.script(o.t, dropTyped)
	o.run(o.t, chromedp.Navigate(o.url+"/console/"+page))
	o.until(fmt.Sprintf(`document.querySelector('main h1')?.textContent === %q`, title), "the page %s does not open", page)
}

func (o *operator) see(selector string) {
	o.t.Helper()
	o.run(o.t, chromedp.WaitVisible(chromedp.CSS(selector)))
}

// click clicks what can be seen at a selector, as soon as it can be clicked. It does so in the page, in which nothing is drawn anew between the look and the click.
func (o *operator) click(selector string) {
	o.t.Helper()
	o.until(fmt.Sprintf(`((e) => e.checkVisibility() && !e.disabled && (e.click(), true))(document.querySelector(%q))`, selector), "there is no %s to click", selector)
}

// enter waits for a field with this label, and replaces what it has.
func (o *operator) enter(label, text string) {
	o.t.Helper()
	id, err := take(o.browser, chromedp.Poll[string](fmt.Sprintf(`((asked) => {
		const label = [...document.querySelectorAll('label')].find((l) => l.textContent.trim().replace(/ \*$/, '') === asked && l.offsetParent);
		const field = label ? document.getElementById(label.htmlFor) : document.querySelector('[aria-label="' + asked + '"]');
		if (!field) return '';
		field.value = '';
		return field.id ||= 'entered-' + Math.random().toString(36).slice(2);
	})(%q)`, label), chromedp.WithPollingTimeout(pagePatience)))
	if err != nil {
		o.fail(o.t, fmt.Errorf("no field is called %q: %w", label, err))
	}
	o.run(o.t, chromedp.SendKeys(chromedp.CSS("#"+id), text))
}

// press clicks the button or the link with this text.
func (o *operator) press(text string) {
	o.t.Helper()
	o.until(fmt.Sprintf(`(() => {
		const all = ['dialog[open] button', 'main button, main a, main summary', '#top button', 'nav a'].flatMap((s) => [...document.querySelectorAll(s)]);
		const found = all.find((b) => b.textContent.trim() === %q && b.offsetParent && !b.disabled);
		found?.click();
		return Boolean(found);
	})()`, text), "there is no %q to press", text)
}

// part opens a part of an object's page, unless it is shown already, and folds the others: what is open is what is asked about then.
func (o *operator) part(title string) {
	o.t.Helper()
	o.until(fmt.Sprintf(`((all) => ((part) => part && (all.forEach((d) => { d.open &&= d === part; }), part.open || part.querySelector('summary').click(), true))(
		all.find((d) => d.offsetParent && d.querySelector('summary').textContent === %q)))([...document.querySelectorAll('main details.part')])`, title), "there is no part %q", title)
}

// hit presses keys, which go to the element that has the focus.
func (o *operator) hit(keys ...string) {
	o.t.Helper()
	o.run(o.t, chromedp.KeyEvent(strings.Join(keys, "")))
}

// until waits for a condition.
func (o *operator) until(condition, problem string, args ...any) {
	o.t.Helper()
	if err := o.poll("Boolean(" + condition + ")"); err != nil {
		o.fail(o.t, fmt.Errorf("%s: %w", fmt.Sprintf(problem, args...), err))
	}
}

// reads waits until the page has this text.
func (o *operator) reads(text string) {
	o.t.Helper()
	o.until(fmt.Sprintf(`document.body.innerText.includes(%q)`, text), "the page does not have %q", text)
}

func (o *operator) signIn(username, password string) {
	o.t.Helper()
	o.see("#login")
	o.run(o.t, chromedp.SendKeys(chromedp.CSS("#username"), username), chromedp.SendKeys(chromedp.CSS("#password"), password+"\r"), chromedp.WaitVisible(chromedp.CSS("#logout")))
	o.reads("Welcome, " + username)
}
