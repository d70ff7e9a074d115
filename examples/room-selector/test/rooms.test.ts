import { expect, test } from 'vitest';
import { bestRoom, describeMeeting, findProblems, gradeAnswer, type Room, type RoomTask } from '../rooms.ts';

const suitable: Room = { id: 'A1', seats: 6, equipment: ['projector'], isAccessible: true, booked: [[12, 13]] };
const task: RoomTask = {
  meeting: { start: 10, hours: 2, people: 5, needs: ['projector'], isAccessible: true },
  rooms: [
    { ...suitable, id: 'B2', seats: 12 },
    suitable,
    { ...suitable, id: 'C3', booked: [[11, 14]] },
    { ...suitable, id: 'D4', seats: 4, equipment: [], isAccessible: false, booked: [[9, 11]] },
  ],
};

test('the best room is the smallest that satisfies all constraints', () => {
  expect(bestRoom(task)?.id).toBe('A1');
});

test('a booking that ends at the start, or starts at the end, does not conflict', () => {
  expect(
    findProblems(
      {
        ...suitable,
        booked: [
          [8, 10],
          [12, 13],
        ],
      },
      task.meeting,
    ),
  ).toEqual([]);
});

test.each([
  ['A1', 1, 0],
  ['B2', 0.8, 1],
  ['C3', 0.6, 1],
  ['D4', 0, 4],
  ['I suggest A1.', 0.5, 1],
  ['A1 or B2', 0, 1],
  ['', 0, 1],
])('%j is worth %d', (answer, reward, problems) => {
  const grade = gradeAnswer(answer, task);
  expect([grade.reward, grade.problems.length]).toEqual([reward, problems]);
});

test('a meeting is described with all its constraints', () => {
  expect(describeMeeting(task.meeting)).toBe('10:00 to 12:00, 5 people, with projector and wheelchair access');
});
