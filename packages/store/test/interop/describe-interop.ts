import { describe, test } from 'vitest';
import { interopEnvironments, preparePython } from '../../../../tools/python-environment.ts';

const environment = await preparePython(interopEnvironments['agentlightning 0.3.0']);

/**
 * Declares tests that need the Python package. Without Python they are not run, and the report says why; continuous
 * integration does not come that far without it, see `tools/prepare-python.ts`.
 */
export function describeInterop(name: string, body: (python: string) => void): void {
  if ('python' in environment) describe(name, () => body(environment.python));
  else test.todo(`${name} (not run: ${environment.missing})`);
}
