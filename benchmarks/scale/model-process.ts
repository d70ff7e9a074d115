/* A training runtime that learns nothing, with its model server, in a separate process. */
import { serveSlowRuntime } from '../pipeline/slow-runtime.ts';

const [callMs = '0', sigma = '0'] = process.argv.slice(2);
const runtime = await serveSlowRuntime({
  learnMsPerToken: 0,
  publishMs: 0,
  callMs: Number(callMs),
  sigma: Number(sigma),
});
process.once('message', () => void runtime.close().then(() => process.exit(0)));
process.send?.({ address: runtime.address });
