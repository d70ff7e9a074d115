import { describe, expect, TestRunner, test } from 'vitest';
import { type PythonEnvironment, type PythonEnvironmentOptions, preparePython } from './python-environment.ts';

/**
 * Declares tests that need a Python with packages. Without it they are not run, and the report says why; in continuous
 * integration, where they must be, that is a failure.
 */
export function describeWithPython(environment: PythonEnvironment, name: string, body: (python: string) => void): void {
  if ('python' in environment) describe(name, () => body(environment.python));
  else if (process.env.CI === undefined) test.todo(`${name} (not run: ${environment.missing})`);
  else test(name, () => expect.unreachable(environment.missing));
}

/**
 * Declares tests tagged `long` that need a Python with packages. The packages are installed only when such tests are
 * selected.
 *
 * @returns what declares the tests of one file
 */
export async function pythonSuites(
  options: PythonEnvironmentOptions,
): Promise<(name: string, body: (python: string) => void) => void> {
  const environment = TestRunner.matchesTags(['long']) ? await preparePython(options) : null;
  return (name, body) => {
    describe('with Python', { tags: ['long'] }, () => {
      if (environment === null) test(name, () => expect.unreachable('Tests tagged `long` are not selected.'));
      else describeWithPython(environment, name, body);
    });
  };
}
