import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import { attemptBaseUrl } from '@agentlightning/core/store';
import { respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { serveGateway } from '@agentlightning/gateway';
import { openStore } from '@agentlightning/store';

/**
 * The source files of this repository in which a function ran while one recorded Chat Completions call was served, relative to
 * `root`. The process must resolve packages to their sources (`--conditions=@agentlightning/source`).
 */
export async function filesOfRecordedCall(root: string): Promise<readonly string[]> {
  const store = await openStore(':memory:');
  const model = await ScriptedModel.start([respondWith('4'), respondWith('5')]);
  const gateway = await serveGateway({ store, upstream: { baseUrl: model.baseUrl, model: 'policy' } });
  const session = new Session();
  session.connect();
  try {
    const { rolloutId, attempt } = await store.startRollout({ input: null });
    const baseUrl = attemptBaseUrl(`${gateway.url}/v1`, { rolloutId, attemptId: attempt.attemptId });
    // The first call loads and learns what later ones know.
    await call(baseUrl);
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await call(baseUrl);
    const { result } = await session.post('Profiler.takePreciseCoverage');
    return result
      .filter(({ url, functions }) => url.startsWith('file:') && functions.some(isCalled))
      .map(({ url }) => fileURLToPath(url))
      .filter((file) => file.startsWith(`${root}/packages/`) && !file.includes('/testing/'))
      .map((file) => file.slice(root.length + 1))
      .toSorted();
  } finally {
    session.disconnect();
    await gateway.close();
    await model.close();
    await store.close();
  }
}

interface CoveredFunction {
  readonly functionName: string;
  readonly ranges: readonly { readonly count: number }[];
}

/** Whether a function was called; a module's own statements ran when it was loaded. */
function isCalled({ functionName, ranges }: CoveredFunction): boolean {
  return functionName !== '' && (ranges[0]?.count ?? 0) > 0;
}

async function call(baseUrl: string): Promise<void> {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'policy', messages: [{ role: 'user', content: 'What is 2 + 3?' }] }),
  });
  if (!response.ok) throw new Error(`the call failed with status ${response.status}: ${await response.text()}`);
  await response.text();
}
