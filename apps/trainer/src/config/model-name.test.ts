import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isRunId, modelName, projectOfCheckpoint, qualifiedRunId, referenceName } from './model-name.ts';

test('model names are unique for all hyphens in run ids and policy names', () => {
  const letters = (from: string, max: number) =>
    fc.string({ unit: fc.constantFrom(...from), minLength: 1, maxLength: max });
  const runId = letters('a-', 6).filter(isRunId);
  const policy = fc.option(
    fc.oneof(
      letters('a-', 6),
      letters('a-', 3).map((name) => `reference${name}`),
    ),
  );
  const policies = fc.record({ runId, policy, isReference: fc.boolean() });
  const nameOf = ({ runId, policy, isReference }: { runId: string; policy: string | null; isReference: boolean }) =>
    isReference ? referenceName(runId, policy) : modelName({ runId, policy, naming: 'two-hyphens' });
  fc.assert(
    fc.property(policies, policies, (one, other) => {
      const isSame = JSON.stringify(one) === JSON.stringify(other);
      expect(nameOf(one) === nameOf(other)).toBe(isSame);
      expect(nameOf(one)).toMatch(/^[A-Za-z0-9_-]{1,255}$/);
    }),
    { numRuns: 20_000 },
  );
});

test('runs with the one-hyphen scheme keep their model names', () => {
  expect(modelName({ runId: 'a', policy: 'b', naming: 'one-hyphen' })).toBe('a-b');
  expect(modelName({ runId: 'a-b', policy: null, naming: 'one-hyphen' })).toBe('a-b');
  expect(modelName({ runId: 'a-b', policy: null, naming: 'two-hyphens' })).toBe('a-b');
  expect(modelName({ runId: 'a', policy: 'b', naming: 'two-hyphens' })).toBe('a--b');
});

test.each(['run-1', 'A_b-C', '-a', 'x'.repeat(64), 'run-0123abcd'])('run id %s is valid', (text) => {
  expect(isRunId(text)).toBe(true);
});

test.each(['', 'a--b', 'a-', '-', 'a/b', '..', 'a b', 'x'.repeat(65)])('run id "%s" is invalid', (text) => {
  expect(isRunId(text)).toBe(false);
});

test.each([undefined, 'red', 'a-b'])('a checkpoint of project %s has the project in its URI', (project) => {
  const model = modelName({ runId: qualifiedRunId('run-1', project), policy: 'coder', naming: 'two-hyphens' });
  expect(projectOfCheckpoint(`${model}/step-000001`)).toBe(project);
});
