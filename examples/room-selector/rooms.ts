/**
 * Rooms, meetings, and how well a room suits a meeting.
 *
 * @module
 */
import { z } from 'zod';

const room = z.object({
  id: z.string(),
  seats: z.number(),
  equipment: z.array(z.string()),
  isAccessible: z.boolean(),
  /** Bookings of the day, each `[start, end)` in hours. */
  booked: z.array(z.tuple([z.number(), z.number()])),
});

export type Room = z.infer<typeof room>;

const meeting = z.object({
  /** In hours of the day. */
  start: z.number(),
  hours: z.number(),
  people: z.number(),
  needs: z.array(z.string()),
  isAccessible: z.boolean(),
});

export type Meeting = z.infer<typeof meeting>;

/** A meeting, and the rooms of its building. */
export const roomTask = z.object({ meeting, rooms: z.array(room) });

export type RoomTask = z.infer<typeof roomTask>;

/** The meeting as a person would ask for it. */
export function describeMeeting({ start, hours, people, needs, isAccessible }: Meeting): string {
  const wishes = [...needs, ...(isAccessible ? ['wheelchair access'] : [])];
  return `${start}:00 to ${start + hours}:00, ${people} people${wishes.length > 0 ? `, with ${wishes.join(' and ')}` : ''}`;
}

/** The constraints that a room does not satisfy, in words. */
export function findProblems(candidate: Room, { start, hours, people, needs, isAccessible }: Meeting): string[] {
  const missing = needs.filter((need) => !candidate.equipment.includes(need));
  const isFree = candidate.booked.every(([from, to]) => to <= start || from >= start + hours);
  return [
    ...(isFree ? [] : [`${candidate.id} is booked at this time`]),
    ...(candidate.seats >= people ? [] : [`${candidate.id} has too few seats`]),
    ...(missing.length === 0 ? [] : [`${candidate.id} lacks a ${missing.join(' and a ')}`]),
    ...(candidate.isAccessible || !isAccessible ? [] : [`${candidate.id} has no wheelchair access`]),
  ];
}

/** The room with the fewest seats that satisfies all constraints; undefined without one. */
export function bestRoom({ meeting: wanted, rooms }: RoomTask): Room | undefined {
  return rooms
    .filter((candidate) => findProblems(candidate, wanted).length === 0)
    .reduce<Room | undefined>((best, next) => (best === undefined || next.seats < best.seats ? next : best), undefined);
}

/** A grade, and the reasons for it. */
export interface Grade {
  /** From 0 to 1. */
  readonly reward: number;
  readonly problems: readonly string[];
}

/**
 * Grades an answer: 0.2 for each of four constraints that the named room satisfies, 0.2 more if it satisfies all and is not larger
 * than necessary; half of that if the answer has more than the room's name.
 */
export function gradeAnswer(answer: string, task: RoomTask): Grade {
  const named = task.rooms.filter(({ id }) => new RegExp(`\\b${id}\\b`).test(answer));
  const [chosen] = named;
  if (chosen === undefined || named.length > 1) return { reward: 0, problems: ['The answer does not name one room'] };
  const violated = findProblems(chosen, task.meeting);
  const best = bestRoom(task);
  const isLarge = violated.length === 0 && best !== undefined && chosen.seats > best.seats;
  const problems = [...violated, ...(isLarge ? [`${chosen.id} is larger than necessary: ${best.id} suffices`] : [])];
  const points = 4 - violated.length + (problems.length === 0 ? 1 : 0);
  if (answer === chosen.id) return { reward: points / 5, problems };
  return { reward: points / 10, problems: [...problems, 'The answer has more than the name of the room'] };
}
