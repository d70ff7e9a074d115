import { expect, test } from 'vitest';
import { errorFromPythonFault } from './wire-python-fault.ts';

const missing = 'does not exist with primary key(s): ';

test('the last part of a missing primary key identifies the missing record', () => {
  const traceback = `ValueError: The item ${missing}rollout_id='ro-1', attempt_id='at-2'\n`;
  expect(errorFromPythonFault({ error_type: 'ValueError', traceback })).toMatchObject({
    code: 'NOT_FOUND',
    message: expect.stringContaining('at-2'),
  });
});

test('a long reason is searched in linear time', () => {
  const error = errorFromPythonFault({ error_type: 'ValueError', traceback: missing.repeat(100_000) });
  expect(error).toMatchObject({ code: 'VALIDATION' });
});
