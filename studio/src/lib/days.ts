/** Days of UTC, as the server writes them. */

const MILLISECONDS_OF_A_DAY = 86_400_000;
const MAX_DAYS = 1_000;
const DAYS = 30;

export const isoDay = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 10);

/** Return the day that is some days after today. */
export const dayAfter = (days: number): string => isoDay(Date.now() + days * MILLISECONDS_OF_A_DAY);

/** Return the first and the last of the newest days. */
export const newestDays = (): { from: string; to: string } => ({ from: dayAfter(1 - DAYS), to: dayAfter(0) });

/** Return the value of each day of a period; those of missing days are 0. */
export function daysOf<T>(
  byDay: ReadonlyMap<string, T>,
  first: string,
  last: string,
): { day: string; value: T | 0 }[] {
  const points = [];
  const end = Date.parse(last);
  for (let at = Date.parse(first); at <= end && points.length < MAX_DAYS; at += MILLISECONDS_OF_A_DAY) {
    const day = isoDay(at);
    points.push({ day, value: byDay.has(day) ? byDay.get(day)! : (0 as const) });
  }
  return points;
}
