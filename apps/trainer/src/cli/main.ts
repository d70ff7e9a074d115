#!/usr/bin/env node
// Old versions of Node must be able to parse this file: no static import of anything newer, no top-level await.
import { silenceExpectedWarnings, unsupportedNode } from '../doctor/node-version.ts';

const problem = unsupportedNode(process.versions.node);
if (problem === null) {
  silenceExpectedWarnings(process);
  void import('./run-command-line.ts');
} else {
  process.stderr.write(`error: ${problem}\n`);
  process.exitCode = 2;
}
