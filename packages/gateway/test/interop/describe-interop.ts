import { pythonSuites } from '../../../../tools/describe-with-python.ts';
import { interopEnvironments } from '../../../../tools/python-environment.ts';

/** Declares tests that require the Python package. */
export const describeInterop: Awaited<ReturnType<typeof pythonSuites>> = await pythonSuites(
  interopEnvironments['agentlightning 1.0.2'],
);
