/** Whom and what the dashboard's buttons work with. */

/** The client whose orders are limited. */
export const BUYER = 'dashboard';
/** Who logs in; the password is the name, backwards. */
export const USER = 'dashboard';
/** The product of which one client orders too many. */
export const ORDERED = 1;
/** The product that is evicted and read by many. */
export const STAMPEDED = 2;
/** The products whose order cannot be packed, and is packed by a process that is killed. */
export const POISONED = 3;
export const INTERRUPTED = 2;
/** What there is of a product before it is ordered. */
export const STOCK = 100;
