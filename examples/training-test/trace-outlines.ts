import { openStore } from '@agentlightning/store';
import { traceSteps, walkSteps } from '@agentlightning/trace';

/** The traces of the first page of rollouts in a store: a line for each step with its kind and title, indented below its parent. */
export async function traceOutlines(storeUrl: string): Promise<readonly string[]> {
  const store = await openStore(storeUrl);
  const outlines: string[] = [];
  const { items: rollouts } = await store.queryRollouts();
  for (const { rolloutId } of rollouts) {
    const { items: spans } = await store.querySpans({ rolloutId });
    const steps = walkSteps(traceSteps(spans));
    outlines.push(steps.map(({ step, depth }) => `${'  '.repeat(depth)}${step.kind} ${step.title}\n`).join(''));
  }
  await store.close();
  return outlines;
}
