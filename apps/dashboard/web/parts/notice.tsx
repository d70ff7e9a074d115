import { type ReactNode, useId } from 'react';
import { ApiError } from '../data/api-client.ts';

/** An empty state: what is absent, and how to get it. */
export function EmptyNotice({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactNode {
  return (
    <div className="notice">
      <h2>{title}</h2>
      <p className="muted">{children}</p>
    </div>
  );
}

/** A failed request: message and remedy. */
export function FailureNotice({ error, onRetry }: { readonly error: Error; readonly onRetry: () => void }): ReactNode {
  const isKnown = error instanceof ApiError;
  if (isKnown && error.code === 'UNAUTHENTICATED') return <SignIn />;
  return (
    <div className="notice" role="alert">
      <h2>{isKnown && error.code === 'NOT_FOUND' ? 'Not found' : 'This could not be read'}</h2>
      <p className="foreign">{error.message}</p>
      <p className="muted">{isKnown ? error.remedy : 'Reload the page.'}</p>
      <p>
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      </p>
    </div>
  );
}

/** The part of a query that {@link QueryView} needs. */
interface ShownQuery<TData> {
  readonly data: TData | undefined;
  readonly error: Error | null;
  readonly refetch: () => unknown;
}

/** The data of a query, or its failure. Data stays visible when a later request fails. */
export function QueryView<TData>(props: {
  readonly query: ShownQuery<TData>;
  readonly children: (data: TData) => ReactNode;
}): ReactNode {
  const { data, error, refetch } = props.query;
  if (data !== undefined) return props.children(data);
  if (error !== null) return <FailureNotice error={error} onRetry={() => void refetch()} />;
  return (
    <p className="muted" role="status">
      Loading …
    </p>
  );
}

/** The form for the viewer key. */
function SignIn(): ReactNode {
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
