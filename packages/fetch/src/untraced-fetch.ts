const key: unique symbol = Symbol.for('agentlightning.untraced-fetch');

type Traced = typeof fetch & { [key]?: typeof fetch | undefined };

/** Remembers what a traced fetch was made over, so that a call is never traced twice, nor sent around in a circle. */
export function markTraced(traced: typeof fetch, inner: typeof fetch): typeof fetch {
  return Object.defineProperty(traced, key, { value: inner });
}

/** The fetch beneath all tracing. */
export function untraced(candidate: typeof fetch): typeof fetch {
  let current: Traced = candidate;
  for (let inner = current[key]; inner !== undefined; inner = current[key]) current = inner;
  return current;
}
