import fc from 'fast-check';
import { expect, it } from 'vitest';
import { GradientLedger } from './gradient-ledger.ts';

it('accepts a step exactly when all required batches and no others are accumulated', () => {
  const seqs = fc.uniqueArray(fc.integer({ min: 1, max: 8 }));
  fc.assert(
    fc.property(seqs, seqs, seqs, (added, missing, required) => {
      const ledger = new GradientLedger();
      for (const seq of added) ledger.add(seq);
      for (const seq of missing) ledger.miss(seq);
      const isMeant = required.length === 0 || added.every((seq) => required.includes(seq));
      const isThere = added.length > 0 && required.every((seq) => added.includes(seq));
      const isComplete = isThere && isMeant && missing.length === 0;
      expect(ledger.whyNot(required) === null).toBe(isComplete);
      expect(ledger.hasPending).toBe(added.length > 0);
      ledger.clear();
      expect(ledger.hasPending).toBe(false);
      expect(ledger.whyNot([])).toMatchObject({ code: 'PRECONDITION_FAILED', gradientsDiscarded: true });
    }),
  );
});
