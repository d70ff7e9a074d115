#!/usr/bin/env node
import { AgentLightningError } from '@agentlightning/core';
import { CommanderError } from 'commander';
import { exitCodeOf } from './exit-code.ts';
import { buildProgram } from './program.ts';

try {
  process.exitCode = await runProgram(process.argv);
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else {
    process.stderr.write(`${errorText(error)}\n`);
    process.exitCode = exitCodeOf(error);
  }
}

async function runProgram(argv: readonly string[]): Promise<number> {
  let exitCode = 0;
  await buildProgram({ setExitCode: (code) => (exitCode = code) }).parseAsync([...argv]);
  return exitCode;
}

function errorText(error: unknown): string {
  if (AgentLightningError.isInstance(error)) return `error: ${error.message}\n  → ${error.remedy}`;
  return `error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
