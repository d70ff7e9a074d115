import { describe, test } from 'vitest';
import type { PythonEnvironment } from './python-environment.ts';

/**
 * Declares tests that need a Python with packages. Without it they are not run, and the report says why; continuous
 * integration does not come that far without it, see `prepare-python.ts`.
 */
export function describeWithPython(environment: PythonEnvironment, name: string, body: (python: string) => void): void {
  if ('python' in environment) describe(name, () => body(environment.python));
  else test.todo(`${name} (not run: ${environment.missing})`);
}
