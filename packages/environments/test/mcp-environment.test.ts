import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { describeEnvironmentContract } from '../src/contracts/index.ts';
import { type Environment, mcpEnvironment } from '../src/index.ts';
import { memoryServer, officialServer, startEverythingOverHttp } from './servers.ts';

const context = { signal: new AbortController().signal, seed: 1 };
const stubborn = {
  command: process.execPath,
  args: [fileURLToPath(new URL('fixtures/stubborn-server.ts', import.meta.url))],
};

const remember = (name: string) => ({ entities: [{ name, entityType: 'thing', observations: ['seen'] }] });

describeEnvironmentContract({
  name: 'the memory server over stdio',
  create: () => mcpEnvironment<string>(memoryServer),
  task: 'Remember.',
  change: { type: 'tool-call', name: 'create_entities', arguments: remember('canary') },
  look: { type: 'tool-call', name: 'read_graph', arguments: {} },
  invalid: { type: 'tool-call', name: 'create_entities', arguments: { entities: 'none' } },
  break: killServer,
});

async function killServer(environment: Environment<string>): Promise<void> {
  const { pid } = (await environment.state(context)) as { readonly pid: number };
  process.kill(pid, 'SIGKILL');
}

async function call(environment: Environment<string>, name: string, args = {}): Promise<string> {
  return (await environment.step({ type: 'tool-call', name, arguments: args }, context)).observation;
}

async function started(factory: ReturnType<typeof mcpEnvironment<string>>, task = 'Go.') {
  const environment = factory.create();
  await environment.reset(task, context);
  return environment;
}

test('the canary shows what rollouts of a shared server leave to each other', async () => {
  const factory = mcpEnvironment<string>({ ...memoryServer, stateless: true });
  const [one, other] = [await started(factory), await started(factory)];
  await call(one, 'create_entities', remember('canary'));
  expect(await call(other, 'read_graph')).toContain('canary');
  await factory.close();
});

test('a shared server is started again after a crash, which fails its rollouts', async () => {
  const factory = mcpEnvironment<string>({ ...stubborn, stateless: true });
  const [one, other] = [await started(factory), await started(factory)];
  expect(await call(one, 'pids')).toBe(await call(other, 'pids'));
  const [crash, hang] = await Promise.allSettled([call(one, 'crash'), call(other, 'hang')]);
  expect(crash).toMatchObject({ status: 'rejected', reason: { code: 'ENVIRONMENT_FAILED' } });
  expect(hang).toMatchObject({ status: 'rejected', reason: { code: 'ENVIRONMENT_FAILED' } });
  const next = await started(factory);
  const pids: number[] = JSON.parse(await call(next, 'pids'));
  await factory.close();
  await untilEnded(pids);
});

test('the message of a crash has what the server wrote last', async () => {
  const environment = await started(mcpEnvironment<string>(stubborn));
  await expect(call(environment, 'crash')).rejects.toThrow(/the disk is on fire \(it exited with code 3\)/);
});

test('a server that does not start is a failure of the environment', async () => {
  const absent = mcpEnvironment<string>({ command: 'no-such-program' });
  await expect(started(absent)).rejects.toThrow(/\[ENVIRONMENT_FAILED\].*no-such-program.*ENOENT/);
  const wrong = mcpEnvironment<string>({ command: process.execPath, args: ['-e', 'console.error("no licence")'] });
  await expect(started(wrong)).rejects.toThrow(/no licence/);
});

test('closing ends a server that ignores it, with the programs that it started', async () => {
  const environment = await started(mcpEnvironment<string>(stubborn));
  const pids: number[] = JSON.parse(await call(environment, 'pids'));
  await environment.close();
  await untilEnded(pids);
});

test('servers end when the trainer is killed', async () => {
  const program = fileURLToPath(new URL('fixtures/killed-trainer.ts', import.meta.url));
  const trainer = spawn(process.execPath, ['--conditions=@agentlightning/source', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output]: Buffer[] = await once(trainer.stdout, 'data');
  const pids: number[] = JSON.parse(String(output));
  expect(pids.map(isRunning)).toEqual([true, true]);
  trainer.kill('SIGKILL');
  await untilEnded(pids);
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Nothing notifies of the end of a process that is not a child. */
async function untilEnded(pids: readonly number[]): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (pids.some(isRunning)) {
    expect(performance.now(), `running: ${pids.filter(isRunning)}`).toBeLessThan(deadline);
    await wait(20);
  }
}

test('tools are offered by name, and others are refused', async () => {
  const environment = await started(mcpEnvironment<string>({ ...officialServer('everything'), tools: ['get-sum'] }));
  expect(environment.tools()).toMatchObject([
    { name: 'get-sum', parameters: { type: 'object', required: ['a', 'b'] } },
  ]);
  expect(await call(environment, 'get-sum', { a: 2, b: 3 })).toBe('The sum of 2 and 3 is 5.');
  expect(await call(environment, 'echo', { message: 'hi' })).toBe('There is no tool "echo".');
  await environment.close();
  const unknown = mcpEnvironment<string>({ ...officialServer('everything'), tools: ['get-product'] });
  await expect(started(unknown)).rejects.toThrow(/has no tool "get-product". It has: echo/);
});

test('content that is not text is named by its type', async () => {
  const environment = await started(mcpEnvironment<string>(officialServer('everything')));
  expect(await call(environment, 'get-tiny-image')).toContain('[image/png]');
  await environment.close();
});

test('a server at a URL has a session for each rollout', async () => {
  await using server = await startEverythingOverHttp();
  const factory = mcpEnvironment<string>({ url: server.url });
  const [one, other] = await Promise.all([started(factory), started(factory)]);
  expect(await call(one, 'get-sum', { a: 4, b: 5 })).toBe('The sum of 4 and 5 is 9.');
  await one.close();
  await expect(call(one, 'get-sum', { a: 4, b: 5 })).rejects.toThrow(/is closed/);
  expect(await call(other, 'echo', { message: 'still here' })).toBe('Echo: still here');
  await other.close();
});

test('a server at a URL that goes away is a failure of the environment', async () => {
  const server = await startEverythingOverHttp();
  const environment = await started(mcpEnvironment<string>({ url: server.url }));
  await server[Symbol.asyncDispose]();
  await expect(call(environment, 'echo', { message: 'hi' })).rejects.toThrow(/\[ENVIRONMENT_FAILED\]/);
  await environment.close();
});

test('a world is prepared before the task, and the end is rewarded by what the agent left', async () => {
  const factory = mcpEnvironment<{ readonly question: string; readonly expected: string }>({
    ...memoryServer,
    prepare: async ({ expected }, callTool) => {
      await callTool('create_entities', remember(`not-${expected}`));
    },
    reward: async ({ task, answer, callTool }) => {
      const graph = await callTool('read_graph', {});
      return answer === 'done' && graph.includes(`"${task.expected}"`) && graph.includes('not-') ? 1 : 0;
    },
  });
  const environment = factory.create();
  expect(await environment.reset({ question: 'Remember B4.', expected: 'B4' }, context)).toBe('Remember B4.');
  await environment.step({ type: 'tool-call', name: 'create_entities', arguments: remember('B4') }, context);
  const end = await environment.step({ type: 'message', text: 'done' }, context);
  expect(end).toEqual({ observation: '', reward: 1, done: true });
  await environment.close();
});

test.each([
  ['an empty command', { command: ' ' }],
  ['a URL of another protocol', { url: 'ftp://example.com' }],
])('%s is refused', (_, server) => {
  expect(() => mcpEnvironment(server)).toThrow(/\[CONFIG\]/);
});

test('a task without a prompt names what to pass', async () => {
  const environment = mcpEnvironment<number>(memoryServer).create();
  await expect(environment.reset(4, context)).rejects.toThrow(/\[CONFIG\] A task of `mcpEnvironment` has no text/);
});
