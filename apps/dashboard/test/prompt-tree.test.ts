import { expect, test } from 'vitest';
import type { PromptVersion } from '../src/api/prompt-views.ts';
import { promptTree } from '../web/data/prompt-tree.ts';

const version = (name: string, ...parents: string[]): PromptVersion => ({
  version: name,
  templates: {},
  parents,
  score: null,
  scoredTasks: 0,
  taskScores: [],
  bestTasks: 0,
});

test('each version is below its first parent, in order of creation', () => {
  const versions = [
    version('v0'),
    version('v1', 'v0'),
    version('v2', 'v0'),
    version('v3', 'v1', 'v2'),
    version('v4', 'gone'),
  ];
  expect(promptTree(versions).map(({ version: { version: name }, depth }) => [name, depth])).toEqual([
    ['v0', 0],
    ['v1', 1],
    ['v3', 2],
    ['v2', 1],
    ['v4', 0],
  ]);
});

test('versions that name each other as parents are listed once', () => {
  const versions = [version('v0', 'v1'), version('v1', 'v0')];
  expect(promptTree(versions).map(({ version: { version: name } }) => name)).toEqual(['v0', 'v1']);
});
