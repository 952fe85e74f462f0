/** Conversations by how long ago they changed. */

export const PERIODS = ["pinned", "today", "yesterday", "week", "earlier"] as const;
export type Period = (typeof PERIODS)[number];

const MILLISECONDS = 1_000;
const WEEK_DAYS = 7;

interface Dated {
  pinned?: boolean | undefined;
  /** Seconds since 1970. */
  updated_at?: number | undefined;
}

/** Return conversations in groups of the user's days, without empty ones. */
export function byPeriod<T extends Dated>(list: readonly T[], now = new Date()): [Period, T[]][] {
  const dayBefore = (days: number): number =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() - days).getTime() / MILLISECONDS;
  const [today, yesterday, week] = [dayBefore(0), dayBefore(1), dayBefore(WEEK_DAYS - 1)];
  const periodOf = ({ pinned, updated_at = 0 }: T): Period => {
    if (pinned) return "pinned";
    if (updated_at >= today) return "today";
    if (updated_at >= yesterday) return "yesterday";
    return updated_at >= week ? "week" : "earlier";
  };
  return PERIODS.flatMap((period): [Period, T[]][] => {
    const group = list.filter((each) => periodOf(each) === period);
    return group.length > 0 ? [[period, group]] : [];
  });
}
