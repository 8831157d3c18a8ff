package declaration

import "reflect"

// Pointer is a pointer to a struct: the type of the objects of a resource. Go compiles generic code once for each shape of its type
// arguments, and all pointers have one, under a constraint that asks for no more than methods: forty resources take no more code than one.
// Where a comment speaks of an object or a field of T, it is what T points to.
type Pointer any

// StructOf returns the type that T points to.
func StructOf[T Pointer]() reflect.Type { return reflect.TypeFor[T]().Elem() }

// Fresh returns a pointer to a zero value of the type that T points to.
func Fresh[T Pointer]() T { return reflect.New(StructOf[T]()).Interface().(T) }

// Cloned returns a pointer to a copy of what o points to.
func Cloned[T Pointer](o T) T {
	out := Fresh[T]()
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(o).Elem())
	return out
}

// Null returns the null pointer.
func Null[T Pointer]() (nothing T) { return nothing }

// IsNull reports whether a pointer is null.
func IsNull[T Pointer](o T) bool { return any(o) == any(Null[T]()) }
