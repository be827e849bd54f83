package org.jspecify.annotations;

import java.lang.annotation.ElementType;
import java.lang.annotation.Target;

/** Stands in for JSpecify's annotation, which means nothing at run time. */
@Target(ElementType.TYPE_USE)
public @interface NonNull { }
