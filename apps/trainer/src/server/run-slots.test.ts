import { ManualClock } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { type RunSlot, RunSlots } from './run-slots.ts';

/** Takes slots, and frees each when it has to yield. */
class Projects {
  readonly clock = new ManualClock();
  readonly events: string[] = [];
  readonly #slots: RunSlots;
  readonly #held = new Map<string, RunSlot>();

  constructor(size: number) {
    this.#slots = new RunSlots(size, this.clock);
  }

  /** Requests a slot for a run, named by its project and a number. */
  async take(run: string, signal = new AbortController().signal): Promise<void> {
    const onYield = (): void => {
      this.events.push(`${run} yields`);
      this.release(run);
    };
    void this.#slots.take({ project: run.slice(0, 1), onYield, signal }).then((slot) => {
      if (slot === null) return;
      this.#held.set(run, slot);
      this.events.push(run);
    });
    await this.clock.advance(0);
  }

  slot(run: string): RunSlot | undefined {
    return this.#held.get(run);
  }

  release(run: string): void {
    this.#held.get(run)?.release();
    this.#held.delete(run);
  }
}

test('a free slot is for the project with the fewest slots, then for the one that waits the longest', async () => {
  const projects = new Projects(3);
  for (const run of ['a1', 'b1', 'b2', 'a2', 'c1']) await projects.take(run);
  expect(projects.events).toEqual(['a1', 'b1', 'b2']);
  projects.release('b1');
  await projects.clock.advance(0);
  projects.release('b2');
  await projects.clock.advance(0);
  expect(projects.events).toEqual(['a1', 'b1', 'b2', 'c1', 'a2']);
});

test('a run without a runner keeps its slot for 30 seconds when another project waits', async () => {
  const projects = new Projects(1);
  await projects.take('a1');
  projects.slot('a1')?.setIdle(true);
  await projects.clock.advance(60_000);
  expect(projects.events).toEqual(['a1']);
  projects.slot('a1')?.setIdle(false);
  await projects.take('b1');
  projects.slot('a1')?.setIdle(true);
  await projects.clock.advance(29_000);
  expect(projects.events).toEqual(['a1']);
  await projects.clock.advance(2000);
  expect(projects.events).toEqual(['a1', 'a1 yields', 'b1']);
});

test('a project does not keep all slots from another one', async () => {
  const projects = new Projects(2);
  for (const run of ['a1', 'a2', 'a3', 'b1']) await projects.take(run);
  await projects.clock.advance(2000);
  expect(projects.events).toEqual(['a1', 'a2', 'a2 yields', 'b1']);
  // Each has one: nothing more is taken back for now.
  await projects.clock.advance(60_000);
  expect(projects.events).toHaveLength(4);
});

test('projects alternate, whatever their runs do', async () => {
  const projects = new Projects(1);
  await projects.take('a1');
  await projects.clock.advance(1_700_000);
  await projects.take('b1');
  await projects.take('a1');
  await projects.clock.advance(99_000);
  expect(projects.events).toEqual(['a1']);
  await projects.clock.advance(2000);
  expect(projects.events).toEqual(['a1', 'a1 yields', 'b1']);
  await projects.clock.advance(1_801_000);
  expect(projects.events).toEqual(['a1', 'a1 yields', 'b1', 'b1 yields', 'a1']);
});

test('a request that is withdrawn gets no slot', async () => {
  const projects = new Projects(1);
  const controller = new AbortController();
  await projects.take('a1');
  await projects.take('b1', controller.signal);
  controller.abort();
  await projects.take('c1');
  projects.release('a1');
  await projects.clock.advance(0);
  expect(projects.events).toEqual(['a1', 'c1']);
});
