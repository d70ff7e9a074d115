import { parseArgs } from 'node:util';
import { serveRuntime } from '../../src/index.ts';
import { BagEngine } from './bag-engine.ts';

// A test runtime as a process of its own, so that it can be killed: prints its address when it listens.
const { values } = parseArgs({
  options: {
    directory: { type: 'string', default: '.' },
    key: { type: 'string', default: '' },
    ttl: { type: 'string' },
  },
});
const engine = await BagEngine.open(values.directory);
const limits = values.ttl === undefined ? {} : { resultTtlMs: Number(values.ttl) };
const server = await serveRuntime({ engine, apiKey: values.key, limits });
process.stdout.write(`${server.address}\n`);
process.once('SIGTERM', () => void server.close());
