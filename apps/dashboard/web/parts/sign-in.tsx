import { type ReactNode, useId } from 'react';

/** The form for the viewer key. */
export function SignIn(): ReactNode {
  const id = useId();
  const hasFailed = new URLSearchParams(location.search).get('signIn') === 'failed';
  return (
    <form className="notice" method="post" action="/session">
      <h2>Viewer key</h2>
      <p className="muted">This dashboard needs the key that it was started with (AGL_DASHBOARD_KEY).</p>
      {hasFailed ? <p role="alert">The key is wrong. Enter it again.</p> : null}
      <p>
        <label htmlFor={id}>Key </label>
        <input id={id} name="key" type="password" autoComplete="current-password" required />{' '}
        <button type="submit">Open</button>
      </p>
    </form>
  );
}
