'use strict';
// The token is kept in this page's memory alone: it is gone with the tab.
(() => {
  const byID = (id) => document.getElementById(id);
  const state = byID('state');
  let ui, token = '', auth = '';

  const say = (text, wrong) => {
    state.textContent = text;
    state.classList.toggle('wrong', Boolean(wrong));
  };

  const show = (url) => {
    ui = SwaggerUIBundle({
      url,
      dom_id: '#swagger-ui',
      deepLinking: true,
      validatorUrl: null,
      queryConfigEnabled: false,
      persistAuthorization: false,
      defaultModelsExpandDepth: -1,
      docExpansion: 'list',
      requestInterceptor: (request) => {
        if (token && new URL(request.url, location.href).origin === location.origin) {
          request.headers['X-Auth-Token'] = token;
        }
        return request;
      },
    });
  };

  const login = async (event) => {
    event.preventDefault();
    const bytes = new TextEncoder().encode(byID('username').value + ':' + byID('password').value);
    try {
      const answer = await fetch(auth + '/token', {
        method: 'POST',
        headers: {
          'Accept': 'application/json',
          'Content-Type': 'application/json',
          'Authorization': 'Basic ' + btoa(String.fromCharCode(...bytes)),
        },
        body: '{}',
      });
      const body = await answer.json();
      byID('password').value = '';
      if (!answer.ok) {
        say(answer.status === 401 ? 'The username or the password is wrong.' : body.message, true);
        byID('password').focus();
        return;
      }
      token = body.data.token;
      byID('login').hidden = true;
      byID('logout').hidden = false;
      say('Signed in until ' + new Date(body.data.utc_expires_at + 'Z').toLocaleString() + '. Every "Execute" below sends the token.');
    } catch (problem) {
      say('The gateway cannot be reached: ' + problem.message, true);
    }
  };

  const logout = async () => {
    const old = token;
    token = '';
    byID('login').hidden = false;
    byID('logout').hidden = true;
    say('Signed out.');
    await fetch(auth + '/token/' + encodeURIComponent(old), { method: 'DELETE', headers: { 'Accept': 'application/json' } });
  };

  const start = async () => {
    byID('login').addEventListener('submit', login);
    byID('logout').addEventListener('click', logout);
    const services = await (await fetch('services.json')).json();
    const select = byID('service');
    for (const service of services) {
      select.add(new Option(service.title, service.definition));
      if (service.name === 'auth') auth = service.prefix;
    }
    select.addEventListener('change', () => show(select.value));
    show(select.value);
  };
  start().catch((problem) => say(
    'The API definition could not be loaded. If this browser does not trust the certificate, open this page again and accept it. (' +
    problem.message + ')', true));
})();
