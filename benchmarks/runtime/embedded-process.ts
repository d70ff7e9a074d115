/**
 * The embedded runtime, in a separate process. Reports its address when it listens.
 *
 * @module
 */
import { startCpuRuntime } from '@agentlightning/runtime-cpu';

const [checkpointDir = ''] = process.argv.slice(2);
const runtime = await startCpuRuntime({ checkpointDir });
process.on('message', () => void runtime.close().then(() => process.disconnect()));
process.on('disconnect', () => process.exit(0));
process.send?.({ address: runtime.address, apiKey: runtime.apiKey });
