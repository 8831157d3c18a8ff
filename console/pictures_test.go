package console_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// shot are the parameters, and photo is the result, of the protocol's Page.captureScreenshot.
type shot struct {
	Format  string `json:"format"`
	Quality int    `json:"quality"`
}

type photo struct {
	Data []byte `json:"data"`
}

// TestConsolePictures makes the pictures of docs/console.md in the folder that CONSOLE_PICTURES names.
func TestConsolePictures(t *testing.T) {
	folder := os.Getenv("CONSOLE_PICTURES")
	if folder == "" {
		t.Skip("CONSOLE_PICTURES names no folder")
	}
	g, o, admin := company(t)
	first := func(path string) string {
		t.Helper()
		items := g.Do(t, "GET", "/api/confd/1.1"+path, admin, "").List().Items
		if len(items) == 0 {
			t.Fatalf("there is nothing at %s", path)
		}
		id, _ := items[0]["uuid"].(string)
		return id
	}
	g.Do(t, "PUT", "/api/confd/1.1/configuration/live_reload", admin, `{"enabled":false}`).Want(204)
	g.Do(t, "PUT", "/api/confd/1.1/groups/"+first("/groups"), admin, `{"ring_strategy":"all"}`).Want(204)
	picture := func(name string, width, height int, scheme string) {
		t.Helper()
		o.run(t, emulate(width, height, scheme))
		capture := cdp.Command[shot, photo]{Method: "Page.captureScreenshot"}
		o.run(t, func(ctx context.Context, page *chromedp.Target) (chromedp.Void, error) {
			made, err := cdp.Call(ctx, page, capture, shot{"webp", 70})
			if err != nil {
				return chromedp.Void{}, err
			}
			return chromedp.Void{}, os.WriteFile(filepath.Join(folder, name+".webp"), made.Data, 0o600)
		})
	}
	for _, page := range []struct {
		name, address, shows string
		width, height        int
		scheme               string
	}{
		{"start", "#/", `document.querySelector('.now b')`, 1200, 760, "light"},
		{"people", "#/confd/users", `document.querySelector('main tbody tr')`, 1200, 760, "light"},
		{"person", "#/confd/users/" + first("/users?search=Lovelace"), `document.querySelector('.glance dd a')`, 1200, 760, "light"},
		{"new-user", "#/telephone", `document.querySelector('.offers button')`, 1200, 760, "light"},
		{"ring-group", "#/confd/groups/" + first("/groups"), `[...document.querySelectorAll('details.part[open]')].every((d) => d.querySelector('form'))`, 1200, 760, "light"},
		{"hours", "#/opening-hours", `document.querySelector('.hours')`, 1200, 760, "light"},
		{"apply", "#/apply", `document.querySelector('.objects')`, 1200, 760, "dark"},
		{"policy", "#/auth/policies/+new", `document.querySelector('.patterns')`, 1200, 760, "light"},
		{"audit", "#/auth/audit", `document.querySelector('main tbody tr')`, 1200, 760, "dark"},
		{"telephone", "#/confd/users", `document.querySelector('main tbody tr')`, 360, 720, "dark"},
	} {
		o.visit(page.address, loaded+" && "+page.shows)
		picture(page.name, page.width, page.height, page.scheme)
	}
	o.clean(t, "while pictures were made")
}
