import { expect, test } from 'vitest';
import { migrateSource } from './migrate-source.ts';

function migrated(config: string): string {
  const { text } = migrateSource(`export default defineConfig(${config});\n`, 'agl.config.ts');
  return text.slice('export default defineConfig('.length, -');\n'.length);
}

test.each([
  ['{ agent, workers: 2, steps: 3 }', '{ agent, agents: { processes: 2 }, steps: 3 }'],
  ['{ workers: 2, steps: 3, concurrency: 8 }', '{ agents: { processes: 2, concurrency: 8 }, steps: 3 }'],
  ['{ agents: { env: [] }, workers: 2 }', '{ agents: { processes: 2, env: [] } }'],
  ['{ agents: {}, workers }', '{ agents: { processes: workers } }'],
  ['{ agents: shared, workers: 2 }', '{ agents: { processes: 2, ...shared } }'],
  ['{ stopWhen: { patience: 3 } }', '{ stop: { patience: 3 } }'],
  ['{ stopWhen: { patience: 3 }, stopAtReward: 0.9 }', '{ stop: { patience: 3, reward: 0.9 } }'],
  ['{ stopWhen, steps: 1 }', '{ stop: stopWhen, steps: 1 }'],
  ['{ diagnosis: { steps: 2 }, steps: 1 }', '{ steps: 1 }'],
  ['{ steps: 1, diagnosis: {} }', '{ steps: 1 }'],
  ['{ evaluation: { tasks: 4, rewardRange: [0, 2] } }', '{ evaluation: { tasks: 4 }, reward: { range: [0, 2] } }'],
  ['{ finish, keepCheckpoints: 2 }', '{ checkpoints: { finish, keep: 2 } }'],
  ["{ name: 'a', agent, seed: 1 }", "{ run: { name: 'a', seed: 1 }, agent }"],
  ['{ ...base, dataDir, steps: 1 }', '{ ...base, run: { ...base.run, dataDir }, steps: 1 }'],
  ['{ steps: 1 }', '{ steps: 1 }'],
])('%s', (before, after) => {
  expect(migrated(before)).toBe(after);
  expect(migrated(after)).toBe(after);
});

test('keeps types, comments and lines, and names what was renamed', () => {
  const source = [
    'const steps: number = 3;',
    'export default defineConfig({',
    '  agent: agent as Agent<Task>, // the agent',
    '  tasks: { train, test },',
    '  taskSchema: task,',
    '  workers: 2,',
    '});',
    '',
  ].join('\n');
  expect(migrateSource(source, 'agl.config.ts')).toEqual({
    text: source
      .replace('tasks: { train', 'tasks: { schema: task, train')
      .replace('  taskSchema: task,\n', '')
      .replace('workers: 2', 'agents: { processes: 2 }'),
    renamed: ['5: taskSchema → tasks.schema', '6: workers → agents.processes'],
  });
});

test('leaves other objects alone, and names a file that is not JavaScript', () => {
  const source = 'runner({ workers: 2 });\nnew Trainer({ steps: 1 });\n';
  expect(migrateSource(source, 'train.mjs')).toEqual({ text: source, renamed: [] });
  expect(() => migrateSource('export default {', 'agl.config.ts')).toThrow(/agl\.config\.ts cannot be parsed/);
});

test('reads secrets by env, and imports it', () => {
  const source = [
    "import { defineConfig } from '@agentlightning/trainer';",
    "const api = { baseUrl: 'https://a/v1', apiKeyEnv: 'A_KEY' };",
    'export default defineConfig({ rewards: { judged: rubric({ judge: { ...api, apiKeyEnv: name } }) }, optimizer: api });',
    '',
  ].join('\n');
  const { text, renamed } = migrateSource(source, 'agl.config.ts');
  expect(text.split('\n')).toEqual([
    "import { defineConfig, env } from '@agentlightning/trainer';",
    "const api = { baseUrl: 'https://a/v1', apiKey: env('A_KEY') };",
    'export default defineConfig({ reward: { judged: rubric({ judge: { ...api, apiKey: env(name) } }) }, optimizer: api });',
    '',
  ]);
  expect(renamed).toEqual(['2: apiKeyEnv → apiKey', '3: rewards → reward', '3: apiKeyEnv → apiKey']);
  expect(migrateSource(text, 'agl.config.ts').renamed).toEqual([]);
  expect(migrateSource("export const judge = { apiKeyEnv: 'K' };", 'judge.ts').text).toBe(
    "import { env } from '@agentlightning/trainer';\nexport const judge = { apiKey: env('K') };",
  );
});
