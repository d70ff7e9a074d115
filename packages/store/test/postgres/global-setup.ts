import type { TestProject } from 'vitest/node';
import { type PostgresServer, startPostgres } from '../../src/testing/index.ts';

/** What tests know of the server that was started for them. */
export type ProvidedPostgres = { readonly url: string } | { readonly missing: string };

declare module 'vitest' {
  interface ProvidedContext {
    postgres: ProvidedPostgres;
  }
}

let server: PostgresServer | null = null;

/** Starts one PostgreSQL server for all tests of the package; its absence is an error except where it cannot run. */
export async function setup(project: TestProject): Promise<void> {
  try {
    // PostgreSQL looks for deadlocks after a second, which is long for a test that makes some.
    server = await startPostgres({ path: process.env.PATH ?? '', settings: { deadlock_timeout: '20ms' } });
    project.provide('postgres', { url: server.url });
  } catch (error) {
    if (process.env.CI !== undefined) throw error;
    project.provide('postgres', { missing: error instanceof Error ? error.message : String(error) });
  }
}

/** Ends the server. */
export async function teardown(): Promise<void> {
  await server?.close();
}
