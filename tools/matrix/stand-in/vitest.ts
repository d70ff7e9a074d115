/**
 * Stands in for vitest where vitest does not run: on every runtime of the matrix, in ES modules and in CommonJS.
 *
 * It is bundled into a package named `vitest`, so that the very contract suite that core publishes plays outside of
 * the workspace. It knows no more than that suite uses. Its `expect` is the one of vitest.
 *
 * @module
 */
import {
  ASYMMETRIC_MATCHERS_OBJECT,
  chai,
  type ExpectStatic,
  getState,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
  setState,
} from '@vitest/expect';
import type { ContractReport } from './contract-report.ts';

interface TestContext {
  /** Ends the test here, when the condition holds. */
  readonly skip: (condition: boolean, reason?: string) => void;
}

interface CollectedTest {
  readonly name: string;
  readonly run: (context: TestContext) => unknown;
}

/** Longer than any scene takes on a busy machine, in milliseconds. */
const testTimeoutMs = 60_000;

class SkippedError extends Error {}

const folders: string[] = [];
const tests: CollectedTest[] = [];

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

/** As vitest's, put together from the same parts, which is more than the types of the parts can tell. */
export const expect: ExpectStatic = Object.assign(
  (value: unknown, message?: string) => {
    setState({ assertionCalls: getState(expect).assertionCalls + 1 }, expect);
    return chai.expect(value, message);
  },
  chai.expect,
  Reflect.get(globalThis, ASYMMETRIC_MATCHERS_OBJECT),
) as unknown as ExpectStatic;
setState({ assertionCalls: 0 }, expect);

/** Chai's, as in vitest. */
export const assert: typeof chai.assert = chai.assert;

/** No contract of an adapter uses it, but those beside it import it. */
export const vi: object = {};

/** Collects the tests of a group. */
export function describe(name: string, collect: () => void): void {
  folders.push(name);
  collect();
  folders.pop();
}

/** Collects a test. */
export function test(name: string, run: CollectedTest['run']): void {
  tests.push({ name: [...folders, name].join(' › '), run });
}

test.for =
  <TCase>(cases: readonly TCase[]) =>
  (name: string, run: (given: TCase, context: TestContext) => unknown): void => {
    for (const given of cases) {
      test(name.replace(/%[a-z]/, JSON.stringify(given)), (context) => run(given, context));
    }
  };

/**
 * Runs what was collected, one test after the other. Called by the program that the matrix puts around the tests.
 *
 * @param isWanted - which tests, by their full name
 */
export async function runCollectedTests(isWanted: (name: string) => boolean): Promise<ContractReport> {
  const report: ContractReport = { passed: [], failed: [], skipped: [] };
  for (const { name, run } of tests.filter((collected) => isWanted(collected.name))) {
    try {
      await untilDone(run);
      report.passed.push(name);
    } catch (error) {
      if (error instanceof SkippedError) report.skipped.push({ name, reason: error.message });
      else report.failed.push({ name, reason: textOf(error) });
    }
  }
  return report;
}

async function untilDone(run: CollectedTest['run']): Promise<void> {
  let stop: (error: unknown) => void = () => {};
  const stopped = new Promise<never>((_resolve, reject) => {
    stop = reject;
  });
  const timer = setTimeout(() => stop(new Error(`It took longer than ${testTimeoutMs / 1000} s.`)), testTimeoutMs);
  // What nobody waits for may fail, too: as in vitest, that is a failure.
  process.on('unhandledRejection', stop);
  try {
    const skip: TestContext['skip'] = (condition, reason = 'no reason given') => {
      if (condition) throw new SkippedError(reason);
    };
    await Promise.race([run({ skip }), stopped]);
  } finally {
    clearTimeout(timer);
    process.off('unhandledRejection', stop);
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? String(error)) : String(error);
}
