package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// browser is a headless Chromium that records the complaints of its pages and the hosts that they contact.
type browser struct {
	context.Context

	mu         sync.Mutex
	complaints []string
	marks      int
	asked      map[string]bool // by host
	urls       []string
}

// shared is the browser in which all tests have pages, which accepts any certificate. It is started once it is needed: starting it takes longer than
// most of what a test does with it.
var shared struct {
	context.Context
	end context.CancelFunc
}

func TestMain(m *testing.M) {
	status := m.Run()
	if shared.end != nil {
		shared.end()
	}
	os.Exit(status)
}

// newBrowser opens a page with a profile of its own, which accepts the self-signed certificate.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	if shared.end == nil {
		// Without the windows that nobody sees, it takes two thirds of the processors' time.
		started, end := startBrowser(context.Background(), t, append([]string{"chromium-headless-shell"}, browsers...), chromedp.IgnoreCertErrors)
		if _, err := chromedp.Run(started, chromedp.Title()); err != nil {
			end()
			t.Fatalf("starting a browser: %v", err)
		}
		shared.Context, shared.end = started, end
	}
	page, cancel := chromedp.NewContext(shared, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	return watchPage(page, t)
}

// browsers are the programs of Chromium, as distributions name it.
var browsers = []string{"chromium", "chromium-browser", "google-chrome"}

// startBrowser starts the first of some programs that is installed, with a new profile and more options.
func startBrowser(ctx context.Context, t *testing.T, programs []string, more ...chromedp.ExecAllocatorOption) (context.Context, context.CancelFunc) {
	t.Helper()
	program := ""
	for _, name := range programs {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("chromium is not installed: the console is not tested")
		}
		t.Skip("chromium is not installed (Debian: apt-get install chromium)")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(program), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("js-flags", "--single-threaded"),                                      // its helpers take a sixth of the processors' time
		chromedp.WindowSize(1280, 900), chromedp.Flag("force-prefers-reduced-motion", true)) // a click misses what still scrolls
	allocator, end := chromedp.NewExecAllocator(ctx, append(options, more...)...)
	page, _ := chromedp.NewContext(allocator) // ended with the browser
	return page, end
}

// watchPage records what the page complains of, and what it requests.
func watchPage(page context.Context, t *testing.T) *browser {
	t.Helper()
	b := &browser{Context: page, asked: map[string]bool{}}
	// Violations of the content security policy are errors in the console.
	messages, requests := chromedp.Console(b), chromedp.Events(b, network.RequestWillBeSent)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleWarning || m.IsException() {
				b.mu.Lock()
				b.complaints = append(b.complaints, m.String()+" "+m.URL)
				b.mu.Unlock()
			}
		}
	}()
	go func() {
		for r, err := range requests {
			if err != nil {
				return
			}
			if u, err := url.Parse(r.Request.URL); err == nil && u.Host != "" {
				b.mu.Lock()
				b.asked[u.Host] = true
				b.urls = append(b.urls, r.Request.URL)
				b.mu.Unlock()
			}
		}
	}()
	if _, err := chromedp.Call(b, network.Enable, network.EnableParams{}); err != nil {
		t.Fatalf("opening a page: %v", err)
	}
	return b
}

// complained returns the page's complaints since the last call.
func (b *browser) complained() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	complaints := b.complaints
	b.complaints = nil
	return complaints
}

// shoot saves a screenshot in the folder that CONSOLE_SCREENSHOTS names, if it is set.
func (b *browser) shoot(t *testing.T, name string) {
	t.Helper()
	folder := os.Getenv("CONSOLE_SCREENSHOTS")
	if folder == "" {
		return
	}
	picture, err := take(b, chromedp.CaptureScreenshot())
	if err != nil {
		t.Error(err)
		return
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o600); err != nil {
		t.Fatal(err)
	}
}

// clean fails the test if the page has complained since the last check, except for complaints that contain one of but.
func (b *browser) clean(t *testing.T, when string, but ...string) {
	t.Helper()
	b.settle(t)
	for _, c := range b.complained() {
		if !slices.ContainsFunc(but, func(known string) bool { return strings.Contains(c, known) }) {
			t.Errorf("%s the page complains: %s", when, c)
		}
	}
}

// settle waits until all that the page has complained of has come: what it is made to complain of now comes last.
func (b *browser) settle(t *testing.T) {
	t.Helper()
	b.marks++
	mark := fmt.Sprintf("mark %d of the test", b.marks)
	b.script(t, `console.error("`+mark+`"), ""`)
	gatewaytest.Eventually(t, pagePatience, func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		at := slices.IndexFunc(b.complaints, func(c string) bool { return strings.Contains(c, mark) })
		if at < 0 {
			return errors.New("the page's complaints have not all come")
		}
		b.complaints = slices.Delete(b.complaints, at, at+1)
		return nil
	})
}

// run takes the steps, or ends the test.
func (b *browser) run(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	for i, step := range steps {
		if _, err := take(b, step); err != nil {
			b.fail(t, fmt.Errorf("step %d: %w", i, err))
		}
	}
}

// pagePatience is how long a page may take for anything, whatever the machine is busy with.
const pagePatience = 2 * time.Minute

// take takes a step, for which a page has no more time than that.
func take[T any](b *browser, step chromedp.Action[T]) (T, error) {
	within, cancel := context.WithTimeout(b, pagePatience)
	defer cancel()
	return chromedp.Run(within, step)
}

// fail ends the test, and tells what the page shows in the place of what was expected.
func (b *browser) fail(t *testing.T, problem error) {
	t.Helper()
	b.shoot(t, "failed")
	shown, err := take(b, chromedp.Evaluate[string](`location.hash + ": " + document.body.innerText`))
	if err != nil {
		shown = err.Error()
	}
	t.Fatalf("%v; the page shows %q and complained %q", problem, shown, b.complained())
}

// poll waits until a condition holds, without having the page drawn for it, as it is by default. One that throws, as on a page without what it
// asks for, does not hold: the browser would wait for ever.
func (b *browser) poll(condition string) error {
	caught := "(() => { try { return (" + condition + ") } catch { return false } })()"
	_, err := take(b, chromedp.Poll[bool](caught, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(pagePatience)))
	return err
}

// said returns the page's message, which all pages of the console have in one element.
func (b *browser) said(t *testing.T) string {
	t.Helper()
	shown, err := take(b, chromedp.Text(chromedp.CSS("#state")))
	if err != nil {
		t.Fatal(err)
	}
	return shown
}

// script returns the result of a script.
func (b *browser) script(t *testing.T, text string) string {
	t.Helper()
	answer, err := take(b, chromedp.Evaluate[string](text))
	if err != nil {
		b.fail(t, err)
	}
	return answer
}

// requested returns the requested addresses, in order.
func (b *browser) requested() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.urls)
}

// conditions are the parameters of the protocol's Network.emulateNetworkConditions.
type conditions struct {
	Offline            bool    `json:"offline"`
	Latency            float64 `json:"latency"`
	DownloadThroughput float64 `json:"downloadThroughput"`
	UploadThroughput   float64 `json:"uploadThroughput"`
}

// offline cuts the page off from the network, or reconnects it.
func offline(off bool) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, page *chromedp.Target) (chromedp.Void, error) {
		emulate := cdp.Command[conditions, cdp.Empty]{Method: "Network.emulateNetworkConditions"}
		_, err := cdp.Call(ctx, page, emulate, conditions{Offline: off, DownloadThroughput: -1, UploadThroughput: -1})
		return chromedp.Void{}, err
	}
}

// screen are the parameters of the protocol's Emulation.setDeviceMetricsOverride.
type screen struct {
	Width             int     `json:"width"`
	Height            int     `json:"height"`
	DeviceScaleFactor float64 `json:"deviceScaleFactor"`
	Mobile            bool    `json:"mobile"`
}

// media are the parameters of the protocol's Emulation.setEmulatedMedia.
type media struct {
	Features []feature `json:"features"`
}

type feature struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// emulate gives the page a screen of this size, in pixels, and the preference for "light" or "dark".
func emulate(width, height int, scheme string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, page *chromedp.Target) (chromedp.Void, error) {
		resize := cdp.Command[screen, cdp.Empty]{Method: "Emulation.setDeviceMetricsOverride"}
		if _, err := cdp.Call(ctx, page, resize, screen{Width: width, Height: height, DeviceScaleFactor: 1}); err != nil {
			return chromedp.Void{}, err
		}
		prefer := cdp.Command[media, cdp.Empty]{Method: "Emulation.setEmulatedMedia"}
		_, err := cdp.Call(ctx, page, prefer, media{[]feature{{"prefers-color-scheme", scheme}}})
		return chromedp.Void{}, err
	}
}
