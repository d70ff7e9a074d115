import { describeWithPython } from '../../../../tools/describe-with-python.ts';
import { interopEnvironments, preparePython } from '../../../../tools/python-environment.ts';

const environment = await preparePython(interopEnvironments['agentlightning 0.3.0']);

/** Declares tests that need the Python package. */
export function describeInterop(name: string, body: (python: string) => void): void {
  describeWithPython(environment, name, body);
}
