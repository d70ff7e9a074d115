import { describe, expect, test } from 'vitest';
import type { PythonEnvironment } from './python-environment.ts';

/**
 * Declares tests that need a Python with packages. Without it they are not run, and the report says why; in continuous
 * integration, where they must be, that is a failure.
 */
export function describeWithPython(environment: PythonEnvironment, name: string, body: (python: string) => void): void {
  if ('python' in environment) describe(name, () => body(environment.python));
  else if (process.env.CI === undefined) test.todo(`${name} (not run: ${environment.missing})`);
  else test(name, () => expect.unreachable(environment.missing));
}
