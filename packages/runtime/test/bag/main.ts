import { parseArgs } from 'node:util';
import { type RuntimeLimits, serveRuntime } from '../../src/index.ts';
import { BagEngine } from './bag-engine.ts';

// A test runtime in a separate process, so that it can be killed: prints its address when it listens.
const { values } = parseArgs({
  options: {
    directory: { type: 'string', default: '.' },
    key: { type: 'string', default: '' },
    limits: { type: 'string', default: '{}' },
  },
});
const engine = await BagEngine.open(values.directory);
const limits: Partial<RuntimeLimits> = JSON.parse(values.limits);
const server = await serveRuntime({ engine, apiKey: values.key, limits });
process.stdout.write(`${server.address}\n`);
process.once('SIGTERM', () => void server.close());
